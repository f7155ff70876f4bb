// Package clidoc writes a command line as Markdown, from the model that parses it.
package clidoc

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Page is the reference: the head, the flags of every command, then each command.
// Flags of a group are left out: their program tells of them elsewhere.
func Page(head string, model *kong.Application) string {
	var text strings.Builder
	text.WriteString(head + "\n## Flags of every command\n\n")
	writeFlags(&text, model.Flags)
	text.WriteString("\n")
	for _, leaf := range model.Leaves(true) {
		writeCommand(&text, leaf)
	}
	return strings.TrimRight(text.String(), "\n") + "\n"
}

func writeCommand(text *strings.Builder, leaf *kong.Node) {
	usage := leaf.FullPath()
	for _, argument := range leaf.Positional {
		usage += " " + argument.Summary()
	}
	fmt.Fprintf(text, "## %s\n\n```\n%s\n```\n\n%s\n\n", leaf.FullPath(), usage, leaf.Help)
	for _, argument := range leaf.Positional {
		fmt.Fprintf(text, "- `%s` %s\n", argument.Summary(), argument.Help)
	}
	writeFlags(text, leaf.Flags)
	if len(leaf.Positional)+len(leaf.Flags) > 0 {
		text.WriteString("\n")
	}
}

func writeFlags(text *strings.Builder, flags []*kong.Flag) {
	for _, flag := range flags {
		if flag.Hidden || flag.Group != nil {
			continue
		}
		fmt.Fprintf(text, "- `%s` %s", spelling(flag), flag.Help)
		if flag.Required {
			text.WriteString(" Required.")
		}
		if flag.HasDefault && flag.Default != "" {
			fmt.Fprintf(text, " Default: `%s`.", flag.Default)
		}
		for _, name := range flag.Envs {
			fmt.Fprintf(text, " Environment: `%s`.", name)
		}
		text.WriteString("\n")
	}
}

// spelling is the flag with its value; one that may do without has it in brackets.
func spelling(flag *kong.Flag) string {
	if flag.IsBool() && flag.PlaceHolder != "" {
		return flag.String() + "[=" + flag.PlaceHolder + "]"
	}
	return flag.String()
}
