package schedule

import (
	"slices"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// Admitted stands where a reason would: there is none.
const Admitted = fleet.NumReasons

// short gives the first thing of which capacity minus reserved has less than
// the demand, with its name, or Admitted.
func short(capacity, reserved, demand *fleet.Vector) (fleet.Reason, string) {
	if demand.Slots > capacity.Slots-reserved.Slots {
		return fleet.NoSlots, ""
	}
	if demand.Plain() {
		return Admitted, ""
	}
	if name := shortOf(capacity.Resources, reserved.Resources, demand.Resources); name != "" {
		return fleet.NoResource, name
	}
	if name := shortOf(capacity.Memory, reserved.Memory, demand.Memory); name != "" {
		return fleet.NoMemory, name
	}
	return Admitted, ""
}

func shortOf(capacity, reserved, demand []fleet.Quantity) string {
	for _, want := range demand {
		if want.Amount > amountOf(capacity, want.Name)-amountOf(reserved, want.Name) {
			return want.Name
		}
	}
	return ""
}

func amountOf(list []fleet.Quantity, name string) int64 {
	for i := range list {
		if list[i].Name == name {
			return list[i].Amount
		}
	}
	return 0
}

// addTo adds v, times sign, to sum. The lists of sum are its own, stay sorted
// and keep no zero amounts.
func addTo(sum, v *fleet.Vector, sign int64) {
	sum.Slots += sign * v.Slots
	if v.Plain() {
		return
	}
	sum.Resources = addList(sum.Resources, v.Resources, sign)
	sum.Memory = addList(sum.Memory, v.Memory, sign)
}

func addList(sum, list []fleet.Quantity, sign int64) []fleet.Quantity {
	for _, q := range list {
		at, found := slices.BinarySearchFunc(sum, q.Name, func(have fleet.Quantity, name string) int {
			return strings.Compare(have.Name, name)
		})
		if !found {
			sum = slices.Insert(sum, at, fleet.Quantity{Name: q.Name})
		}
		sum[at].Amount += sign * q.Amount
		if sum[at].Amount == 0 {
			sum = slices.Delete(sum, at, at+1)
		}
	}
	return sum
}

// left is capacity minus reserved, nothing below zero.
func left(capacity, reserved *fleet.Vector) fleet.Vector {
	return fleet.Vector{
		Slots:     max(0, capacity.Slots-reserved.Slots),
		Resources: leftOf(capacity.Resources, reserved.Resources),
		Memory:    leftOf(capacity.Memory, reserved.Memory),
	}
}

func leftOf(capacity, reserved []fleet.Quantity) []fleet.Quantity {
	var rest []fleet.Quantity
	for _, q := range capacity {
		if q.Amount -= amountOf(reserved, q.Name); q.Amount > 0 {
			rest = append(rest, q)
		}
	}
	return rest
}
