package agent

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rockpool/shared/wire"
)

// validateHello gives what the node will say of itself to the wire's own rules, so
// that the control plane has nothing to refuse.
func (c *Config) validateHello() error {
	hello := c.hello()
	hello.ProtoMin, hello.ProtoMax, hello.BootID = wire.ProtoMin, wire.ProtoMax, "0"
	if err := hello.Validate(); err != nil {
		return c.inSettings(err)
	}
	return nil
}

// hello is the part of a hello that the configuration says.
func (c *Config) hello() wire.Hello {
	return wire.Hello{
		NodeID: c.NodeID, Role: c.Role, Region: c.Region, Endpoints: pairs(c.Endpoints), Labels: pairs(c.Labels), Backend: c.Backend,
		Capacity: wire.Capacity{Slots: c.Slots, Resources: amounts(c.Resources), Memory: amounts(c.Memory)},
	}
}

// validateLinks gives what the node will tell to the wire's own rules.
func (c *Config) validateLinks() error {
	told := wire.Inventory{Links: links(c.Links)}
	if err := told.Validate(); err != nil {
		return c.inSettings(err)
	}
	return nil
}

func links(list []Link) (told []wire.NodeLink) {
	for _, l := range list {
		told = append(told, wire.NodeLink{Peer: l.Peer, Kind: l.Kind, Bandwidth: l.Mbps})
	}
	return told
}

func pairs(m map[string]string) (list []wire.Pair) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, wire.Pair{Name: name, Value: m[name]})
	}
	return list
}

func amounts(m map[string]int64) (list []wire.Amount) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, wire.Amount{Name: name, Amount: m[name]})
	}
	return list
}

// wireField is how the wire's rules name a member of what the node tells, such as
// capacity.memory[0].a.
var wireField = regexp.MustCompile(`^(?:capacity\.)?(\w+)(?:\[(\d+)\]\.(\w+))?$`)

// inSettings says in the words of the settings file what the wire's rules refuse.
func (c *Config) inSettings(err error) error {
	var bad *wire.BadMessage
	if !errors.As(err, &bad) {
		return err
	}
	m := wireField.FindStringSubmatch(bad.Field)
	if m == nil {
		return fmt.Errorf("%s: %s", bad.Field, bad.Problem)
	}
	setting, member := m[1], m[3]
	i, err := strconv.Atoi(m[2])
	switch names := c.names(setting); {
	case setting == "links" && err == nil:
		setting = fmt.Sprintf("link %d of %d: %s", i+1, len(c.Links), strings.Replace(member, "bandwidth", "mbps", 1))
	case setting == "links":
		setting = "link"
	case err == nil && i < len(names) && member == "n":
		setting = fmt.Sprintf("%s: the name %q", setting, names[i])
	case err == nil && i < len(names):
		setting += "." + names[i]
	}
	return fmt.Errorf("%s: %s", setting, bad.Problem)
}

// names are those of a setting's table, in the order in which they are told.
func (c *Config) names(setting string) []string {
	switch setting {
	case "endpoints":
		return slices.Sorted(maps.Keys(c.Endpoints))
	case "labels":
		return slices.Sorted(maps.Keys(c.Labels))
	case "resources":
		return slices.Sorted(maps.Keys(c.Resources))
	case "memory":
		return slices.Sorted(maps.Keys(c.Memory))
	}
	return nil
}
