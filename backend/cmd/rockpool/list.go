package main

import (
	"context"
	"fmt"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

// paging are the flags of every list.
type paging struct {
	Limit int    `placeholder:"N" help:"Items of a page (default: the server's)."`
	Page  string `placeholder:"TOKEN" help:"Page to show: the nextPageToken of the one before."`
	All   bool   `help:"Follow the pages to the end."`
}

// Validate refuses a page of less than nothing.
func (p paging) Validate() error {
	if p.Limit < 0 {
		return fmt.Errorf("--limit must be at least 1")
	}
	return nil
}

// showList reads a page (or all) of a list and prints it under the head.
func showList[T any](ctx context.Context, d *desk, p paging, read client.Lister[T], people grid, row func(*grid, T)) error {
	page := client.Page{Limit: p.Limit, Token: p.Page}
	if p.All {
		one := read
		read = func(ctx context.Context, page client.Page) (rest.List[T], error) { return client.All(ctx, one, page) }
	}
	list, err := read(ctx, page)
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		row(&people, item)
	}
	if err := d.show(list, people); err != nil || d.json || list.NextPageToken == "" {
		return err
	}
	return d.say("more: --page " + list.NextPageToken + ", or --all")
}
