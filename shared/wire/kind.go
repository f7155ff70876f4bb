package wire

import "reflect"

// Body is a message's body: a struct of this package, or a pointer to one.
type Body interface{ Type() Type }

// Type names the message that the struct is the body of.
func (Hello) Type() Type        { return TypeHello }
func (Welcome) Type() Type      { return TypeWelcome }      // see Hello.Type
func (Refused) Type() Type      { return TypeRefused }      // see Hello.Type
func (Heartbeat) Type() Type    { return TypeHeartbeat }    // see Hello.Type
func (HeartbeatAck) Type() Type { return TypeHeartbeatAck } // see Hello.Type
func (Offer) Type() Type        { return TypeOffer }        // see Hello.Type
func (Accept) Type() Type       { return TypeAccept }       // see Hello.Type
func (Decline) Type() Type      { return TypeDecline }      // see Hello.Type
func (Start) Type() Type        { return TypeStart }        // see Hello.Type
func (Void) Type() Type         { return TypeVoid }         // see Hello.Type
func (Progress) Type() Type     { return TypeProgress }     // see Hello.Type
func (Result) Type() Type       { return TypeResult }       // see Hello.Type
func (ResultAck) Type() Type    { return TypeResultAck }    // see Hello.Type
func (Cancel) Type() Type       { return TypeCancel }       // see Hello.Type
func (LogRequest) Type() Type   { return TypeLogRequest }   // see Hello.Type
func (Log) Type() Type          { return TypeLog }          // see Hello.Type
func (Inventory) Type() Type    { return TypeInventory }    // see Hello.Type
func (Rotate) Type() Type       { return TypeRotate }       // see Hello.Type
func (Rotated) Type() Type      { return TypeRotated }      // see Hello.Type
func (Goodbye) Type() Type      { return TypeGoodbye }      // see Hello.Type
func (Error) Type() Type        { return TypeError }        // see Hello.Type

// kind is what the codec knows about a type of message.
type kind struct {
	name  Type
	shape *shape
}

// kinds holds every message of this build, made once from the structs' tags.
var kinds = makeKinds(
	Hello{}, Welcome{}, Refused{}, Heartbeat{}, HeartbeatAck{}, Offer{}, Accept{}, Decline{},
	Start{}, Void{}, Progress{}, Result{}, ResultAck{}, Cancel{}, LogRequest{}, Log{}, Inventory{}, Rotate{}, Rotated{}, Goodbye{}, Error{},
	Subscribe{}, More{}, Unsubscribe{}, Ping{}, Pong{}, WelcomeConsole{}, Snapshot{}, Delta{},
)

func makeKinds(bodies ...Body) map[Type]kind {
	all := make(map[Type]kind, len(bodies))
	for _, b := range bodies {
		all[b.Type()] = kind{name: b.Type(), shape: shapeOf(reflect.TypeOf(b))}
	}
	return all
}

// Known reports whether this build has the message. An unknown one is answered
// with error(unknown_type) when it has a request id, else counted and ignored.
func (t Type) Known() bool {
	_, ok := kinds[t]
	return ok
}

// Types lists the messages of this build, in no order.
func Types() []Type {
	all := make([]Type, 0, len(kinds))
	for t := range kinds {
		all = append(all, t)
	}
	return all
}
