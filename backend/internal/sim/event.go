package sim

// eventKind is what an event is.
type eventKind uint8

const (
	evNodeTick   eventKind = iota // a node's deciding code has something to do
	evUp                          // a message arrives at the server
	evDown                        // a message arrives at a node
	evDialed                      // a dial has an answer
	evClientGone                  // a node learns that its connection ended
	evServerGone                  // the server learns that a connection ended
	evFinish                      // an attempt's processes have ended
	evStored                      // a result is on the node's disk, or could not be written
	evTested                      // a node's self-test has an answer
	evBoot                        // a node's process begins
	evApplied                     // a transaction is in the store, or is not
	evCommitted                   // the server hears how a transaction ended
	evLoaded                      // the fleet was read from the store
	evRecalled                    // rows of ended jobs were read
	evTold                        // the core hears of a change that the store has
	evDemand                      // a demand submits its next job
	evSubmit                      // a client submits an order, or does so again
	evStep                        // a line of the scenario's script
	evUndo                        // the end of a fault that lasts
	evServer                      // the server's process begins again, or goes on
	evCheck                       // an expectation with a time
	evPing                        // the server's pings found a silent connection
	evChurn                       // a node comes or goes by its distribution
)

// event is one thing that happens. Only the fields of its kind are set.
type event struct {
	msg  *message // also carries the connection or the function that it is about
	n    int64    // of a job, a step or a process
	node int32
	kind eventKind
}
