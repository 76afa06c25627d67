// kubectl itself: its repository (k8s.io/kubernetes) cannot be built as a module, but the package of its commands can.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
)

func main() {
	os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
}
