// Package inventory is what this machine has: platform, accelerators, memory,
// disk, programs, and the links that its owner declares. It reads /proc, /sys and
// /dev and starts no program. The parts are collected one by one: one that fails
// says what it said before, and the whole is marked stale.
package inventory
