// Package planted proves the simulator's checks: bugs are planted into the deciding
// code, one at a time, and each must be found by a rule.
package planted
