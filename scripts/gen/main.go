// Command gen writes the console's TypeScript types from the Go structs that the
// server uses: the channel's messages with the shapes that the decoder compares
// frames with, and the documents of REST.
//
//	go run ./scripts/gen           write the files
//	go run ./scripts/gen --check   fail when one of them is not current
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
)

// source is one generated file.
type source struct {
	from, to string
	write    func(p *pkg) (string, error)
}

var sources = []source{
	{"shared/wire", "web/src/wire/messages.ts", consoleMessages},
	{"shared/wire", "web/src/wire/agent.ts", agentMessages},
	{"backend/internal/rest", "web/src/api/documents.ts", documents},
}

func main() {
	check := flag.Bool("check", false, "fail when a file is not current")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	for _, s := range sources {
		p, err := parse(s.from)
		if err != nil {
			return err
		}
		text, err := s.write(p)
		if err != nil {
			return fmt.Errorf("%s: %w", s.from, err)
		}
		if !check {
			if err := os.WriteFile(s.to, []byte(text), 0o644); err != nil {
				return err
			}
			continue
		}
		have, err := os.ReadFile(s.to)
		if err != nil {
			return err
		}
		if !bytes.Equal(have, []byte(text)) {
			return fmt.Errorf("%s is not current: run `go run ./scripts/gen`", s.to)
		}
	}
	return nil
}
