import { violation, type Rule, type Violation } from "../rule.ts";
import type { ResourceView, StackView } from "../view.ts";

const WHY =
  "whoever depends on a component waits for its children; without any, it waits for nothing, and what the component depends on is lost on the way (pulumi/pulumi#8721, pulumi/pulumi#7542)";

export const noEmptyBarrier: Rule = {
  name: "no-empty-barrier",
  demands: "A component that waits for something has a child resource that really waits.",
  why: WHY,
  repair: "pass custom resources in `dependsOn`, or put one inside the component",
  stack: (stack) => emptyComponents(stack, (one) => one.dependencies.length > 0),
};

export const noEmptyComponent: Rule = {
  name: "no-empty-component",
  demands: "A component has children.",
  why: WHY,
  repair: "leave the component out, or never name it in `dependsOn`",
  stack: (stack) => emptyComponents(stack, (one) => one.dependencies.length === 0),
};

function emptyComponents(stack: StackView, those: (one: ResourceView) => boolean): Violation[] {
  return stack.resources
    .filter((one) => isComponent(one) && those(one) && !holdsCustom(stack, one))
    .map((one) =>
      violation(
        one,
        `component '${one.name}' (${one.type}) holds no resource: \`dependsOn\` on it waits for nothing`,
      ),
    );
}

/** Neither a resource with a provider, nor a provider, nor one of the engine's own (Stack, StackReference). */
const isComponent = ({ custom, type }: ResourceView): boolean => !custom && !type.startsWith("pulumi:");

function holdsCustom(stack: StackView, one: ResourceView): boolean {
  return stack.childrenOf(one).some((child) => child.custom || holdsCustom(stack, child));
}
