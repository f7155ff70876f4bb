// Package enroll knows who is at the door: the shapes of Rockpool's secrets,
// whose they are, and how a new node gets its record.
//
// A secret is 256 bits of randomness (a license code 160), is shown once and is
// kept as SHA-256 only, so that neither a dump of the database nor the time of a
// comparison tells anything: every lookup is by the sum. The kinds are told
// apart by their shape, before any database is asked.
//
//	license code   RPL-XXXX-… (8 groups of 4, base32)   lets nodes join
//	node secret    43 characters base64url              is one node
//	API token      rp_ + 43 characters                  acts for a user over REST
//	setup token    rps_ + 43 characters                 makes the first superadmin, once
package enroll
