package scenario_test

import "testing"

// The scenarios that show a case; TestScenarios_Hold plays them all.

func TestCase_F6_APlannedStopIsFollowedByNoHerd(t *testing.T) { shows(t, "planned-stop") }

func TestCase_N27_ARestartIsMetByATenthOfTheHerdASecond(t *testing.T) { shows(t, "restart-herd") }

func TestCase_F4_MostOfAPoolFallsSilentAtOnce(t *testing.T) { shows(t, "mass-loss") }

func TestCase_F4_AServerThatStoodStillLosesNobody(t *testing.T) { shows(t, "server-pause") }

func TestCase_N32_TheDatabaseIsAway(t *testing.T) { shows(t, "store-away") }

func TestCase_D9_NodesThatHearNothing(t *testing.T) { shows(t, "half-open") }

func TestAttack_A77_FlappingIsCountedAndHeldBack(t *testing.T) { shows(t, "flapping-node") }

// shows plays a scenario by its own seed and two others.
func shows(t *testing.T, name string) {
	t.Helper()
	sc := load(t, name)
	for _, seed := range []uint64{sc.Seed, 7001, 7002} {
		holds(t, sc, seed)
	}
}
