// Package web carries the built console inside the server. The folder dist is
// made by `npm run build`; a placeholder is committed, so that Go builds without
// Node.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files gives the built console: index.html and assets/ once it was built, and
// placeholder.html always.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}
