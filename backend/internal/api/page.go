package api

import (
	"encoding/base64"
	"strconv"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// pageQuery are the parameters of every paged list.
var pageQuery = []string{"pageSize", "pageToken"}

// page reads pageSize (more than record.MaxPage is cut to it) and pageToken,
// whose inside `valid` must accept.
func (c *call) page(valid func(after string) bool) (record.Page, error) {
	p := record.Page{Limit: record.DefaultPage}
	if text := c.QueryParam("pageSize"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return p, badRequest("pageSize is a number of 1 to %d", record.MaxPage)
		}
		p.Limit = int(min(n, record.MaxPage))
	}
	if token := c.QueryParam("pageToken"); token != "" {
		after, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || !valid(string(after)) {
			return p, badRequest("pageToken is none of this list's")
		}
		p.After = string(after)
	}
	return p, nil
}

// listOf makes a page's document. A full page has a token behind its last row.
func listOf[R, D any](rows []R, p record.Page, key func(*R) string, doc func(*R) D) rest.List[D] {
	list := rest.List[D]{Items: make([]D, 0, len(rows))}
	for i := range rows {
		list.Items = append(list.Items, doc(&rows[i]))
	}
	if len(rows) > 0 && len(rows) >= p.Limit {
		list.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(key(&rows[len(rows)-1])))
	}
	return list
}

// What may stand inside the page tokens of the lists.
func afterJob(s string) bool {
	_, err := ids.ParseJobID(s)
	return err == nil
}

func afterName(s string) bool { return ids.CheckName(s) == nil }

// afterID is an id that the store made: a license's, a token's.
func afterID(s string) bool { return isToken(s, 64) }

func afterNumber(s string) bool {
	_, ok := parseUser(s)
	return ok
}

func notFound(what string) error { return fleet.Errorf(fleet.CodeNotFound, "there is no such "+what) }
