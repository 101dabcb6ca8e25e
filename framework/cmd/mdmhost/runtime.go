package main

import "github.com/spf13/cobra"

func newRuntime() *cobra.Command { return group("runtime", "Check and install what models run on") }
