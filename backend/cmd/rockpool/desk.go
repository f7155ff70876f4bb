package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"rockpool/backend/internal/rest"
)

// desk is where a command reads, prints and asks the server.
type desk struct {
	in         io.Reader
	out        io.Writer
	json       bool
	names      bool // names alone
	connection connection
}

// show prints the document: as it is, or as the table that people read.
func (d *desk) show(document any, people grid) error {
	if d.json {
		return d.showJSON(document)
	}
	return people.write(d.out)
}

func (d *desk) showJSON(document any) error {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the document: %w", err)
	}
	_, err := io.WriteString(d.out, cleanJSON(buffer.String()))
	return err
}

// say prints lines for people.
func (d *desk) say(text string) error {
	_, err := io.WriteString(d.out, cleanLines(text)+"\n")
	return err
}

// grid is a table: rows of cells below an optional head.
type grid struct {
	head []string
	rows [][]string
}

func columns(head ...string) grid { return grid{head: head} }

// fact adds a line with a name and a value to a table of one thing; a value that
// is not there leaves it out.
func (g *grid) fact(name string, value any) {
	if text := cell(value); text != absent {
		g.rows = append(g.rows, []string{name, text})
	}
}

// row adds a row of cells.
func (g *grid) row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = cell(c)
	}
	g.rows = append(g.rows, row)
}

// write aligns the columns. Every cell is made harmless here, once for all.
func (g *grid) write(out io.Writer) error {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	if g.head != nil {
		fmt.Fprintln(w, strings.Join(g.head, "\t"))
	}
	for _, row := range g.rows {
		for i := range row {
			row[i] = clean(row[i])
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := io.WriteString(out, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// absent stands for a value that is not there.
const absent = "-"

// cell is a value as a table shows it.
func cell(value any) string {
	text := ""
	switch v := value.(type) {
	case string:
		text = v
	case *string:
		text = deref(v)
	case []string:
		text = strings.Join(v, ",")
	case rest.Time:
		text = moment(&v)
	case *rest.Time:
		text = moment(v)
	case *int64:
		if v != nil {
			text = strconv.FormatInt(*v, 10)
		}
	case *int32:
		if v != nil {
			text = strconv.FormatInt(int64(*v), 10)
		}
	default:
		text = fmt.Sprint(v)
	}
	if text == "" {
		return absent
	}
	return text
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func moment(t *rest.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
