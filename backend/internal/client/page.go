package client

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"rockpool/backend/internal/rest"
)

// Page asks for a part of a list. The zero value is the first page of the
// server's own size.
type Page struct {
	Limit int    // items; 0: the server's default
	Token string // nextPageToken of the page before
}

// query makes the parameters of a list; pairs are name and value, empty values
// are left out.
func (p Page) query(pairs ...string) url.Values {
	q := url.Values{}
	if p.Limit > 0 {
		q.Set("pageSize", strconv.Itoa(p.Limit))
	}
	pairs = append(pairs, "pageToken", p.Token)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// Lister reads one page of a list.
type Lister[T any] func(ctx context.Context, page Page) (rest.List[T], error)

// All follows a list from page to its end.
func All[T any](ctx context.Context, list Lister[T], page Page) (rest.List[T], error) {
	all := rest.List[T]{Items: []T{}}
	for {
		part, err := list(ctx, page)
		if err != nil {
			return all, err
		}
		all.Items = append(all.Items, part.Items...)
		if part.NextPageToken == "" {
			return all, nil
		}
		if part.NextPageToken == page.Token {
			return all, errors.New("the server names the same page again as the next one")
		}
		page.Token = part.NextPageToken
	}
}

func list[T any](ctx context.Context, c *Client, path string, query url.Values) (rest.List[T], error) {
	var out rest.List[T]
	err := c.do(ctx, call{method: "GET", path: path, query: query}, &out)
	return out, err
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var out T
	err := c.do(ctx, call{method: "GET", path: path}, &out)
	return out, err
}

func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var out T
	err := c.do(ctx, call{method: "POST", path: path, body: body}, &out)
	return out, err
}
