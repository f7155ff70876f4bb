package prescan

import "fmt"

// Cause says which rule a frame breaks.
type Cause uint8

// The causes. None is the zero value: no fault.
const (
	None Cause = iota
	Empty
	FrameTooLong
	Truncated
	LengthBeyondEnd
	ExtType
	ReservedCode
	TooDeep
	TooManyNodes
	TooManyKeys
	KeyNotString
	KeyTooLong
	KeyDuplicate
	KeyForbidden
	NotUTF8
	StringTooLong
	ListTooLong
	IntegerTooLarge
	TrailingBytes
)

var causes = [...]string{
	None:            "no fault",
	Empty:           "the frame is empty",
	FrameTooLong:    "the frame is over the limit",
	Truncated:       "the frame ends inside a value",
	LengthBeyondEnd: "a length claims more bytes than there are",
	ExtType:         "extension types are not used here",
	ReservedCode:    "0xc1 is no value",
	TooDeep:         "nested deeper than 16",
	TooManyNodes:    "more than 8192 values",
	TooManyKeys:     "more than 64 keys in a map",
	KeyNotString:    "a map's key is no string",
	KeyTooLong:      "a map's key is over 128 bytes",
	KeyDuplicate:    "a map has a key twice",
	KeyForbidden:    "__proto__ is no key",
	NotUTF8:         "a string is not valid UTF-8",
	StringTooLong:   "a string is over the limit",
	ListTooLong:     "a list is over the limit",
	IntegerTooLarge: "an integer is beyond 2^53",
	TrailingBytes:   "bytes follow the frame",
}

// String says the rule in words.
func (c Cause) String() string {
	if int(c) < len(causes) {
		return causes[c]
	}
	return fmt.Sprintf("cause %d", uint8(c))
}

// Fault is a broken rule and the byte at which it was seen. It is a plain value,
// so that refusing a frame allocates as little as accepting one.
type Fault struct {
	Cause  Cause
	Offset int
}

// OK reports that there is no fault.
func (f Fault) OK() bool { return f.Cause == None }

// Error makes a fault usable as an error; the caller asks OK first.
func (f Fault) Error() string { return fmt.Sprintf("%s (at byte %d)", f.Cause, f.Offset) }
