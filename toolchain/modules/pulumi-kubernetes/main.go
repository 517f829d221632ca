// The Kubernetes provider of Pulumi, built from its published Go module.
//
// The module's own main package embeds two files that its Makefile makes and that the module does not carry.
// This one embeds the files they are made from; the toolchain copies both from the module cache beside this
// file before it builds. Both are plain JSON, which the provider takes in either form.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema-embed.json
var schema []byte

//go:embed terraform-mapping-embed.json
var terraformMapping []byte

func main() {
	provider.Serve("kubernetes", version.Version, schema, terraformMapping)
}
