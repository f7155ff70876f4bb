// Package migrations embeds the database's migrations: SQL files named
// <number>_<subject>.tx.up.sql and .tx.down.sql, each run in one transaction.
// A change of the schema is a new file; files that were released stay as they are.
package migrations

import "embed"

// FS holds the files.
//
//go:embed *.sql
var FS embed.FS
