// Package artifact keeps files addressed by their content: an upload is written
// aside, summed on the way, synced and only then renamed to its digest, so that
// a name never stands for other bytes, whatever crashes. Who owns a file is the
// database's business.
//
//	<root>/incoming/upload-*         comes as a whole; emptied at start
//	<root>/incoming/*.part           comes in parts and goes on where it broke off
//	<root>/sha256/ab/ab34…           finished
package artifact
