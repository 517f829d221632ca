/** Entry: `pulumi preview --policy-pack policies`. Serves one pack; what is in it is said in packs.ts. */
import { PolicyPack } from "@pulumi/policy";
import { toPolicies } from "./adapter.ts";
import { migration } from "./packs.ts";

new PolicyPack(migration.name, { policies: toPolicies(migration, process.env) });
