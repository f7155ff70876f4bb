package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

// jobCancel names jobs, or selects them. What is canceled is always a fixed list: the
// one that was shown, whatever has changed since.
type jobCancel struct {
	IDs    []string       `arg:"" optional:"" name:"id" help:"Jobs."`
	App    string         `placeholder:"APP" help:"Select open jobs of this app."`
	State  string         `placeholder:"STATE" help:"Select open jobs in this state."`
	Label  string         `placeholder:"NAME=VALUE" help:"Select open jobs with this label."`
	Yes    bool           `help:"Cancel what is selected without asking."`
	DryRun bool           `help:"List what would be canceled, and do nothing."`
	Grace  *time.Duration `placeholder:"10s" help:"Time until a job's tool is killed (default: the server's)."`
}

// Validate refuses a command that leaves it open which jobs are meant.
func (c *jobCancel) Validate() error {
	switch {
	case len(c.IDs) == 0 && !c.selects():
		return errors.New("name jobs, or select them with --app, --state or --label")
	case len(c.IDs) > 0 && c.selects():
		return errors.New("name jobs or select them, not both")
	case c.Label != "" && !strings.Contains(c.Label, "="):
		return errors.New("--label is NAME=VALUE")
	}
	return nil
}

func (c *jobCancel) selects() bool { return c.App != "" || c.State != "" || c.Label != "" }

// Run cancels the jobs.
func (c *jobCancel) Run(ctx context.Context, d *desk, server *client.Client) error {
	if len(c.IDs) == 1 && !c.DryRun {
		job, err := server.CancelJob(ctx, c.IDs[0], (*rest.Duration)(c.Grace))
		if err != nil {
			return err
		}
		return showJob(d, job)
	}
	if d.json && c.selects() && !c.Yes && !c.DryRun {
		return usageError{errors.New("nobody can be asked with --output json: say --yes or --dry-run")}
	}
	list := c.IDs
	if c.selects() || c.DryRun {
		selected, err := server.CancelJobs(ctx, c.selection(), true)
		if err != nil {
			return err
		}
		if goOn, err := c.confirm(d, selected); err != nil || !goOn {
			return err
		}
		list = idsOf(selected)
	}
	done, err := server.CancelJobs(ctx, rest.CancelSelection{IDs: list, Grace: (*rest.Duration)(c.Grace)}, false)
	if err != nil {
		return err
	}
	if err := d.show(done, selectedRows(done)); err != nil {
		return err
	}
	return refusedItems(done)
}

func (c *jobCancel) selection() rest.CancelSelection {
	selection := rest.CancelSelection{IDs: c.IDs, App: c.App, State: c.State}
	if name, value, labeled := strings.Cut(c.Label, "="); labeled {
		selection.Label = &rest.Pair{name, value}
	}
	return selection
}

// confirm shows the list and asks; a dry run and an empty list end here.
func (c *jobCancel) confirm(d *desk, selected rest.CancelSelected) (bool, error) {
	if c.Yes && !c.DryRun && len(selected.Items) > 0 {
		return true, nil
	}
	if err := d.show(selected, selectedRows(selected)); err != nil || c.DryRun || len(selected.Items) == 0 {
		return false, err
	}
	if err := d.say(fmt.Sprintf("cancel these %d jobs? [y/N]", len(selected.Items))); err != nil {
		return false, err
	}
	answer, _ := bufio.NewReader(d.in).ReadString('\n') // without one nothing is canceled
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return false, errors.New("nothing was canceled")
	}
	return true, nil
}

func idsOf(selected rest.CancelSelected) []string {
	list := make([]string, len(selected.Items))
	for i, item := range selected.Items {
		list[i] = item.ID
	}
	return list
}

func selectedRows(selected rest.CancelSelected) grid {
	g := columns("JOB", "STATE", "PROBLEM")
	for _, item := range selected.Items {
		g.row(item.ID, item.State, item.Code)
	}
	return g
}

// refusedItems is the error of a list in which a job could not be canceled.
func refusedItems(done rest.CancelSelected) error {
	for _, item := range done.Items {
		if item.Code != "" {
			return fmt.Errorf("job %s was not canceled: %s", item.ID, item.Code)
		}
	}
	return nil
}
