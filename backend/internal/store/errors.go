package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"rockpool/backend/internal/core/fleet"
)

var (
	// ErrFenced says that another server owns the shard: nothing was written and
	// nothing under this epoch ever will be.
	ErrFenced = errors.New("the shard has a newer epoch: another server dispatches now")
	// ErrUnknown says that the connection died during COMMIT: it may have
	// happened or not.
	ErrUnknown = errors.New("the outcome of the commit is unknown")
)

// problem makes an error one that callers can act on: a *fleet.Error where the
// code is clear, otherwise err with what was being done. nil stays nil.
func problem(what string, err error) error {
	var known *fleet.Error
	var pg *pgconn.PgError
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, sql.ErrNoRows), errors.Is(err, pgx.ErrNoRows):
		return &fleet.Error{Code: fleet.CodeNotFound, Detail: what + ": not found", Cause: err}
	case !errors.As(err, &pg):
		return away(what, err)
	}
	if code := codeOf(pg); code != fleet.CodeInternal {
		return &fleet.Error{Code: code, Detail: what + ": " + wordsOf(code), Cause: err}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// away is an error without an answer of the server: the connection could not be
// made, broke, or took too long.
func away(what string, err error) error {
	return &fleet.Error{Code: fleet.CodeUnavailable, Detail: "the database can't be reached, try again", Cause: fmt.Errorf("%s: %w", what, err)}
}

// codeOf reads PostgreSQL's SQLSTATE.
func codeOf(pg *pgconn.PgError) fleet.Code {
	switch {
	case pg.Code == "23505":
		return fleet.CodeConflict
	case pg.Code == "23503":
		return fleet.CodeNotFound // what the row names is not there
	case isDataError(pg):
		return fleet.CodeBadRequest
	case strings.HasPrefix(pg.Code, "08"), strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "57"),
		strings.HasPrefix(pg.Code, "58"), strings.HasPrefix(pg.Code, "40"), pg.Code == "55P03", pg.Code == "25006":
		return fleet.CodeUnavailable
	}
	return fleet.CodeInternal
}

func wordsOf(code fleet.Code) string {
	switch code {
	case fleet.CodeConflict:
		return "it is there already"
	case fleet.CodeNotFound:
		return "what it names does not exist"
	case fleet.CodeBadRequest:
		return "a value can't be stored"
	}
	return "the database can't do it now, try again"
}

// isDataError reports a row that can't be stored, whatever else is in its batch.
func isDataError(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23") || strings.HasPrefix(pg.Code, "54")
}

// isNoTable reports a table that is not there, or that may not be used.
func isNoTable(err error) bool {
	state := sqlState(err)
	return state == "42P01" || state == "42501"
}

func isUnique(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

func notFound(what string) error { return fleet.Errorf(fleet.CodeNotFound, what+" does not exist") }

// oneRow checks that a statement that must change exactly one row did.
func oneRow(res sql.Result, err error, missing error) error {
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n != 1 {
		return missing
	}
	return nil
}

// sqlState is PostgreSQL's code of an error, or empty.
func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
