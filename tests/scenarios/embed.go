// Package scenarios embeds the scenarios that ship with Rockpool, and their data.
package scenarios

import "embed"

// FS holds <name>.toml and data/.
//
//go:embed *.toml data
var FS embed.FS
