/** Files and folders that the config names, looked at before anything is planned. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import path from "node:path";
import type { Finding } from "../analysis/finding.ts";
import { expandHome } from "../cluster/connect.ts";
import type { UpgradeConfig } from "./upgrade.ts";

/** The folder for artefacts and evidence: evidence that can't be kept is none. */
export function outFindings(out: string): Finding[] {
  const finding = (message: string): Finding[] => [
    {
      code: "OUT-NOT-WRITABLE",
      severity: "refuse",
      subject: "cluster-migration:out",
      message,
      rule: "artefacts and evidence are written there by every stage",
      repair: "pulumi config set out FOLDER, one that can be made and written",
    },
  ];
  let at = path.resolve(out);
  while (!existsSync(at)) at = path.dirname(at);
  if (!statSync(at).isDirectory())
    return finding(`'${out}' cannot be made: '${path.relative(".", at)}' is not a folder`);
  try {
    accessSync(at, constants.W_OK | constants.X_OK);
    return [];
  } catch {
    return finding(`'${out}' cannot be written: no right to write in '${path.relative(".", at) || "."}'`);
  }
}

/** Certificates that the config names are there: a missing one would be found out only when a snapshot is taken. */
export function etcdFileFindings({ etcd }: UpgradeConfig): Finding[] {
  const missing = etcd.cert === undefined ? "cert" : "key";
  const half = (etcd.cert === undefined) !== (etcd.key === undefined);
  const pair: Finding = {
    code: "ETCD-FILE",
    severity: "refuse",
    subject: `cluster-migration:upgrade.etcd.${missing}`,
    message: "is not given, its other half is",
    rule: "a client certificate and its key go together",
    repair: `pulumi config set --path 'upgrade.etcd.${missing}' FILE`,
  };
  const absent = (["cacert", "cert", "key"] as const).flatMap((name): Finding[] => {
    const file = etcd[name];
    if (file === undefined || existsSync(expandHome(file))) return [];
    return [
      {
        code: "ETCD-FILE",
        severity: "refuse",
        subject: `cluster-migration:upgrade.etcd.${name}`,
        message: `there is no file '${file}'`,
        rule: "what etcdctl authenticates with is there before anything is planned",
        repair: `pulumi config set --path 'upgrade.etcd.${name}' FILE`,
      },
    ];
  });
  return half ? [pair, ...absent] : absent;
}
