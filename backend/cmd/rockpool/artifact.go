package main

import (
	"context"
	"os"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type artifactCommand struct {
	Put artifactPut `cmd:"" help:"Upload a file unless the server has it; prints its digest."`
	Get artifactGet `cmd:"" help:"Fetch an artifact and check its bytes."`
}

type artifactPut struct {
	File string `arg:"" help:"File."`
}

// Run uploads the file.
func (c *artifactPut) Run(ctx context.Context, d *desk, server *client.Client) error {
	kept, err := server.UploadFile(ctx, c.File)
	if err != nil {
		return err
	}
	return showArtifact(d, kept)
}

type artifactGet struct {
	Digest string `arg:"" help:"Digest: sha256:…"`
	File   string `arg:"" help:"File to write; - writes standard output."`
}

// Run fetches the artifact. A file gets its name only once the bytes are checked.
func (c *artifactGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	if c.File == "-" {
		_, err := server.GetArtifact(ctx, c.Digest, d.out)
		return err
	}
	kept := rest.Artifact{Digest: c.Digest}
	err := replaceFile(c.File, 0o666, func(file *os.File) (err error) {
		kept.Size, err = server.GetArtifact(ctx, c.Digest, file)
		return err
	})
	if err != nil {
		return err
	}
	return showArtifact(d, kept)
}

func showArtifact(d *desk, a rest.Artifact) error {
	var g grid
	g.fact("digest", a.Digest)
	g.fact("size", a.Size)
	return d.show(a, g)
}
