package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// FollowLog copies a job's log to w while it is written, from its beginning until
// its attempt's end; it waits for an attempt that has not begun. An error behind
// some of the log: the server cut it, and it can be followed again.
func (c *Client) FollowLog(ctx context.Context, id string, w io.Writer) error {
	req, err := c.request(ctx, http.MethodGet, route("v1", "jobs", id, "log"), url.Values{"follow": {"true"}}, nil)
	if err != nil {
		return err
	}
	resp, err := c.send(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return refusal(resp)
	}
	if _, err := io.Copy(w, resp.Body); err != nil {
		return fmt.Errorf("the log of job %s ended early: follow it again: %w", id, err)
	}
	return nil
}
