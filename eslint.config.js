// @ts-check
import pulumi from "@pulumi/eslint-plugin";
import prettier from "eslint-config-prettier";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/", "out/", ".lab/", "eslint.config.js", "**/*.cjs"] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers in messages are the common case here, and read well.
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        { allowNumber: true, allowBoolean: true },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      // Side by side with strictTypeChecked: a promise nobody awaits is a check nobody made.
      "@typescript-eslint/no-floating-promises": "error",
      // The one type argument of a read says what the wire carries; there is nothing to infer it from.
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      // A leading underscore says: left out on purpose.
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_" }],
      "max-lines": ["error", { max: 400, skipBlankLines: true, skipComments: true }],
      eqeqeq: ["error", "always"],
      "no-console": "error",
    },
  },
  {
    plugins: { "@pulumi": pulumi },
    rules: {
      "@pulumi/no-output-instance-in-template-literal": "error",
      "@pulumi/no-output-in-template-literal": "error",
    },
  },
  prettier,
);
