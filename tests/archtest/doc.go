// Package archtest keeps the import law and the purity of the deciding code.
// Every rule says why it is there; a failure prints the reason.
package archtest
