/** The walls of the project: who may know whom. `make lint` keeps them. */
const not = (from, to, comment) => ({
  name: `${from.name}-not-to-${to.name}`,
  severity: "error",
  comment,
  from: { path: from.path },
  to: { path: to.path },
});
const part = (name, path = `^${name}/`) => ({ name, path });

const LAB = part("lab", "^(lab|toolchain)/");
const PROGRAM = part(
  "program",
  "^(index\\.ts|plans|components|commands|cluster|config|analysis|policies)(/|$)",
);

module.exports = {
  forbidden: [
    not(PROGRAM, LAB, "A reader of the program need not know that a lab exists."),
    {
      name: "analysis-is-pure",
      severity: "error",
      comment: "Pure logic: itself and zod, no I/O, no Pulumi.",
      from: { path: "^analysis/" },
      to: { pathNot: "^(analysis/|node_modules/zod/)" },
    },
    not(part("config"), part("plans", "^(plans|components|commands|policies)/"), "Config knows no plan."),
    not(
      part("components"),
      part("plans", "^(plans|policies)/"),
      "Components know nothing of plans or stages by name.",
    ),
    not(
      part("commands"),
      part("plans", "^(plans|components|policies)/"),
      "Data flows one way: plan, component, engine, command.",
    ),
    not(
      part("cluster"),
      part("upper", "^(plans|components|commands|policies|config)/"),
      "Reads of the live world come last.",
    ),
    not(part("policies"), part("cluster", "^(cluster|plans)/"), "A policy makes no call to any cluster."),
    not(part("toolchain"), part("lab"), "The toolchain finds and builds; who runs what is not its business."),
    {
      name: "no-circles",
      severity: "error",
      from: { pathNot: "node_modules" },
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "not-to-unresolvable",
      severity: "error",
      from: {},
      to: { couldNotResolve: true, dependencyTypesNot: ["core"] },
    },
    {
      name: "program-needs-no-dev-dependency",
      severity: "error",
      from: { path: PROGRAM.path },
      to: { dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"] },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(node_modules|out|\\.lab)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      extensions: [".ts", ".mts", ".js", ".cjs", ".json"],
      exportsFields: ["exports"],
      conditionNames: ["import", "require", "node", "default"],
    },
  },
};
