// Command play plays the scenarios of a folder that are named on its command line,
// each with some seeds, and says its hash and which rule failed first. It is what the planted bugs are built into.
package main

import (
	"fmt"
	"os"

	"rockpool/backend/internal/sim"
	"rockpool/backend/internal/sim/scenario"
)

// seeds of each scenario.
const seeds = 16

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "play FOLDER SCENARIO...")
		os.Exit(2)
	}
	files := os.DirFS(os.Args[1])
	for _, name := range os.Args[2:] {
		sc, err := scenario.Load(files, name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if failed := sim.Check(sc, sc.Seed); failed == nil {
			fmt.Println("hash", name, sim.Run(sc, sc.Seed).Hash)
		}
		for seed := sc.Seed; seed < sc.Seed+seeds; seed++ {
			if failed := sim.Check(sc, seed); failed != nil {
				fmt.Printf("failed %s %s, seed %d: %s\n", failed.Rule, name, seed, failed.Error())
				os.Exit(1)
			}
		}
	}
}
