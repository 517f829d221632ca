import { readFile } from "node:fs/promises";
import { parseAllDocuments, stringify } from "yaml";
import type { LabConfig } from "./config.ts";

/** Says to kwok which Nodes' kubelets run; taken away, the kubelet falls silent. */
export const KUBELET_LABEL = "lab.cluster-migration/kubelet";
/** The version of the kubelet that was started last; stage `node-kubelet-started` brings it into the status. */
export const KUBELET_VERSION_ANNOTATION = "lab.cluster-migration/kubelet-version";
const READY_AFTER = "lab.cluster-migration/ready-after-seconds";
const TERMINATES_AFTER = "lab.cluster-migration/terminates-after-seconds";

/**
 * kwok draws a delay between `duration` and `jitterDuration`, and takes the latter when it is the smaller one
 * (kwok, pkg/utils/lifecycle/lifecycle.go, Stage.Delay). So a cap belongs into `jitterDuration`.
 */
function delays(config: LabConfig): Record<string, unknown> {
  const seconds = (expression: string): unknown => ({ expressionFrom: `${expression} | tostring + "s"` });
  const [ready, readyMost] = config.podReadySeconds;
  const [ends, endsMost] = config.podTerminationSeconds;
  const [kubelet, kubeletMost] = config.kubeletStartSeconds;
  const readyAfter = `.metadata.annotations["${READY_AFTER}"]`;
  const endsAfter = `.metadata.annotations["${TERMINATES_AFTER}"]`;
  return {
    "pod-ready": {
      durationFrom: seconds(`(${readyAfter} // ${ready})`),
      jitterDurationFrom: seconds(`(${readyAfter} // ${readyMost})`),
    },
    "pod-terminated": {
      durationFrom: seconds(`(${endsAfter} // ${ends})`),
      jitterDurationFrom: seconds(
        `([(${endsAfter} // ${endsMost} | tonumber), (.metadata.deletionGracePeriodSeconds // 0)] | min)`,
      ),
    },
    "node-kubelet-started": {
      durationMilliseconds: Math.round(kubelet * 1000),
      jitterDurationMilliseconds: Math.round(kubeletMost * 1000),
    },
  };
}

/** kwok's configuration file: the stages of stages.yaml with this lab's times. */
export async function kwokConfig(config: LabConfig): Promise<string> {
  const source = await readFile(new URL("stages.yaml", import.meta.url), "utf8");
  const times = delays(config);
  const documents = parseAllDocuments(source);
  for (const document of documents) {
    const delay = times[String(document.getIn(["metadata", "name"]))];
    if (delay !== undefined) document.setIn(["spec", "delay"], document.createNode(delay));
  }
  const options = stringify({
    apiVersion: "config.kwok.x-k8s.io/v1alpha1",
    kind: "KwokConfiguration",
    // The stock four workers are too few when 3,000 pods become Ready at once. The last two: with kwok 0.8.0's own
    // settings the pods of a Node that came back were not looked at again, and stayed not Ready.
    options: {
      podPlayStageParallelism: 16,
      nodePlayStageParallelism: 8,
      nodeLeaseParallelism: 8,
      podsOnNodeSyncParallelism: 4,
      enablePodsOnNodeSyncStreamWatch: false,
    },
  });
  return [options, ...documents.map((document) => String(document))].join("---\n");
}
