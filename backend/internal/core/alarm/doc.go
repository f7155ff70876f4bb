// Package alarm keeps what is wrong: one alarm a fingerprint from the moment it
// is raised until it resolves itself, counted when it is seen again (Book); and
// the work that waits, oldest first, with those of it that have waited too long
// (Line). It decides nothing: when something is wrong is the core's to say.
package alarm
