package schedule

import "math/bits"

// bitset is a set of small numbers in tiers of 64-bit words: a bit of a tier
// says that its word of the tier below is not empty, so that the first member
// is found in as many steps as there are tiers.
type bitset struct{ tiers [][]uint64 }

// newBitset makes an empty set for numbers below size.
func newBitset(size int) bitset {
	var b bitset
	for {
		words := (size + 63) / 64
		b.tiers = append(b.tiers, make([]uint64, words))
		if words <= 1 {
			return b
		}
		size = words
	}
}

func (b *bitset) set(i int) {
	for _, tier := range b.tiers {
		word := i >> 6
		had := tier[word]
		tier[word] = had | 1<<(i&63)
		if had != 0 {
			return
		}
		i = word
	}
}

func (b *bitset) clear(i int) {
	for _, tier := range b.tiers {
		word := i >> 6
		tier[word] &^= 1 << (i & 63)
		if tier[word] != 0 {
			return
		}
		i = word
	}
}

// next gives the lowest member that is not below from, or -1.
func (b *bitset) next(from int) int {
	for t := 0; t < len(b.tiers); t++ {
		word := from >> 6
		if word >= len(b.tiers[t]) {
			return -1
		}
		if rest := b.tiers[t][word] >> (from & 63); rest != 0 {
			return b.descend(t, from+bits.TrailingZeros64(rest))
		}
		from = word + 1
	}
	return -1
}

// descend goes from member i of tier t to the lowest number below it.
func (b *bitset) descend(t, i int) int {
	for ; t > 0; t-- {
		i = i<<6 | bits.TrailingZeros64(b.tiers[t-1][i])
	}
	return i
}
