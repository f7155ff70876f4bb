// Package planted proves the simulator's checks: bugs are planted into the deciding
// code, all into one program, which has one at a time: each must be found by a rule.
package planted
