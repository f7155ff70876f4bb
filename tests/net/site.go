package net

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// site is a place behind a NAT of its own, with hosts for agents. Inside all sites
// have the same addresses, as homes do.
type site struct {
	t      testing.TB
	prefix string // of its namespaces
	hosts  int
}

var sites atomic.Int64

// newSite makes a place with so many hosts; it is gone after the test.
func newSite(t testing.TB, hosts int) *site {
	t.Helper()
	number := sites.Add(1)
	s := &site{t: t, prefix: fmt.Sprintf("%s%d-", home, number), hosts: hosts}
	t.Cleanup(func() { removeNamespaces(s.prefix) })
	port, outer := fmt.Sprintf("site%d", number), firstSite+number
	s.must(run("", "ip", "netns", "add", s.nat()))
	s.must(ip(home+"srv", "link add "+port+" type veth peer name out netns "+s.nat(), "link set "+port+" master hub up"))
	s.must(ip(s.nat(), "link set lo up", fmt.Sprintf("addr add 10.88.0.%d/24 dev out", outer), "link set out up",
		"link add lan address 02:77:00:00:00:01 type bridge", "addr add 10.77.0.1/24 dev lan", "link set lan up"))
	for host := range hosts {
		s.must(run("", "ip", "netns", "add", s.host(host)))
		s.must(ip(s.nat(), fmt.Sprintf("link add host%d type veth peer name eth netns %s", host, s.host(host)), fmt.Sprintf("link set host%d master lan up", host)))
		s.must(ip(s.host(host), "link set lo up", "addr add "+s.address(host)+"/24 dev eth"))
		s.plug(host)
	}
	s.inNAT("", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
	s.inNAT(natRules, "nft", "-f", "-")
	return s
}

// natRules masquerade, and forward what belongs to a flow that the NAT knows. Only a
// SYN begins one: otherwise the kernel would adopt a flow again that it forgot.
const natRules = `
table ip nat {
  chain post {
    type nat hook postrouting priority srcnat;
    oifname "out" masquerade
  }
}
table ip filter {
  chain forward {
    type filter hook forward priority filter; policy drop;
    ct state invalid drop
    ct state established,related accept
    iifname "lan" oifname "out" tcp flags & (fin|syn|rst|ack) == syn ct state new accept
  }
}
`

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) nat() string { return s.prefix + "nat" }

// host is the namespace of one.
func (s *site) host(number int) string { return fmt.Sprintf("%shost%d", s.prefix, number) }

// address of a host, behind the NAT.
func (s *site) address(number int) string { return fmt.Sprintf("10.77.0.%d", firstHost+number) }

func (s *site) inNAT(script string, command ...string) {
	s.t.Helper()
	s.must(run(script, inside(s.nat(), command...)...))
}

// forget makes the NAT forget every flow: both ends keep a connection over which
// nothing comes any more, and nobody tells them.
func (s *site) forget() { s.inNAT("", "conntrack", "-F") }

// fault puts rules into a chain of the NAT before its own; heal takes all away.
func (s *site) fault(hook string, rules ...string) {
	s.t.Helper()
	s.inNAT(fmt.Sprintf("table ip fault {\n chain faults {\n type filter hook %s priority -300;\n %s\n }\n}\n", hook, strings.Join(rules, "\n ")), "nft", "-f", "-")
}

func (s *site) heal() { s.inNAT("", "nft", "delete", "table", "ip", "fault") }

// deafen lets nothing through to a host, mute nothing from it.
func (s *site) deafen(host int) { s.fault("forward", "ip daddr "+s.address(host)+" drop") }
func (s *site) mute(host int)   { s.fault("forward", "ip saddr "+s.address(host)+" drop") }

// part lets nothing through to a host nor from it.
func (s *site) part(host int) {
	s.fault("forward", "ip saddr "+s.address(host)+" drop", "ip daddr "+s.address(host)+" drop")
}

// lose drops that many packets of a hundred, in each direction.
func (s *site) lose(percent int) {
	s.fault("prerouting", fmt.Sprintf("numgen random mod 100 < %d drop", percent))
}

// reset answers each side's packets with the other's RST.
func (s *site) reset(host int) {
	s.fault("forward", "ip saddr "+s.address(host)+" meta l4proto tcp reject with tcp reset", "ip daddr "+s.address(host)+" meta l4proto tcp reject with tcp reset")
}

// unplug takes a host's link down, with the routes that go over it; plug is its
// opposite.
func (s *site) unplug(host int) { s.must(ip(s.host(host), "link set eth down")) }
func (s *site) plug(host int) {
	s.must(ip(s.host(host), "link set eth up", "route add default via 10.77.0.1"))
}
