package wiretest

import "strings"

// badFrame must be refused; layer says where.
type badFrame struct {
	Name  string `json:"name"`
	Layer string `json:"layer"`
	Why   string `json:"why"`
	frame string
}

func short(s string) string { return string([]byte{0xa0 | byte(len(s))}) + s }

// body makes a frame of one message around raw bytes.
func body(kind, raw string) string { return "\x91\x82\xa1t" + short(kind) + "\xa1b" + raw }

// start makes a start message with raw bytes as its attempt, and more behind it.
func start(attempt string) string {
	return body("start", "\x82\xa3job\xd9\x24"+job1+"\xa7attempt"+attempt)
}

// logRequest makes a log_request with raw bytes as its offset and maximum.
func logRequest(stream, offset, most string) string {
	return body("log_request", "\x85\xa3job\xd9\x24"+job1+"\xa7attempt\x01\xa6stream"+short(stream)+"\xa6offset"+offset+"\xa3max"+most)
}

// logOf makes a log message with raw bytes as its bytes.
func logOf(stream, bytes string) string {
	return body("log", "\x85\xa3job\xd9\x24"+job1+"\xa7attempt\x01\xa6stream"+short(stream)+"\xa6offset\x00\xa5bytes"+bytes)
}

// inventory makes an inventory with one more entry in raw bytes.
func inventory(entry string) string { return body("inventory", "\x82\xa3rev\x01"+entry) }

func badFrames() []badFrame {
	text := func(n int) string { return strings.Repeat("x", n) }
	return []badFrame{
		{"empty", "frame", "no bytes at all", ""},
		{"no_message", "frame", "a frame holds at least one message", "\x90"},
		{"messages_257", "frame", "a frame holds at most 256 messages", "\xdc\x01\x01" + strings.Repeat("\x81\xa1t\xa7goodbye", 257)},
		{"frame_is_a_map", "frame", "a frame is a list", "\x81\xa1t\xa7goodbye"},
		{"message_is_a_string", "frame", "a message is a map", "\x91\xa7goodbye"},
		{"type_missing", "frame", "a message has a type", "\x91\x81\xa1b\x80"},
		{"type_is_an_integer", "frame", "the type is a string", "\x91\x81\xa1t\x01"},
		{"request_id_is_an_integer", "frame", "ids are strings", "\x91\x82\xa1t\xa6future\xa1i\x01"},
		{"array32_4g", "frame", "a length claims more than there is", "\xdd\xff\xff\xff\xff"},
		{"map32_4g", "frame", "a length claims more than there is", "\x91\xdf\xff\xff\xff\xff"},
		{"bin32_4g_in_a_body", "frame", "a length claims more than there is", body("result", "\x81\xa4tail\xc6\xff\xff\xff\xff")},
		{"array32_4g_in_an_unknown_field", "frame", "a length claims more than there is", body("hello", "\x81\xa4junk\xdd\xff\xff\xff\xff")},
		{"string_cut", "frame", "the frame ends inside a value", body("goodbye", "\x81\xa4kind\xa4st")},
		{"integer_cut", "frame", "the frame ends inside a value", start("\xcd\x01")},
		{"map_cut", "frame", "the frame ends inside a value", "\x91\x82\xa1t\xa7goodbye"},
		{"depth_17", "frame", "nested deeper than 16", body("hello", "\x81\xa4junk"+strings.Repeat("\x91", 13)+"\x90")},
		{"depth_1000", "frame", "nested deeper than 16", body("hello", "\x81\xa4junk"+strings.Repeat("\x91", 1000))},
		{"keys_65", "frame", "more than 64 keys in a map", body("hello", "\xde\x00\x41"+manyKeys(65))},
		{"list_of_4097", "frame", "a list is over 4,096", body("hello", "\x81\xa4junk\xdc\x10\x01"+strings.Repeat("\x00", 4097))},
		{"nodes_8193", "frame", "more than 8,192 values", "\x93" + strings.Repeat("\xdc\x0b\xb8"+strings.Repeat("\x00", 3000), 3)},
		{"string_of_65537", "frame", "a string is over 64 KiB", body("error", "\x81\xa6detail\xdb\x00\x01\x00\x01"+text(65537))},
		{"bytes_of_65537", "frame", "binary data is over 64 KiB", body("result", "\x81\xa4tail\xc6\x00\x01\x00\x01"+text(65537))},
		{"key_of_129", "frame", "a key is over 128 bytes", body("hello", "\x81\xd9\x81"+text(129)+"\x01")},
		{"duplicate_key", "frame", "a map has a key twice", body("goodbye", "\x82\xa4kind\xa4stop\xa4kind\xa4left")},
		{"duplicate_key_other_length_form", "frame", "a map has a key twice", body("goodbye", "\x82\xa4kind\xa4stop\xd9\x04kind\xa4left")},
		{"duplicate_key_in_an_unknown_field", "frame", "a map has a key twice", body("hello", "\x81\xa4junk\x82\xa1a\x01\xa1a\x02")},
		{"key_proto", "frame", "__proto__ is no key", body("hello", "\x81\xa9__proto__\x80")},
		{"key_is_an_integer", "frame", "keys are strings", body("hello", "\x81\x01\x01")},
		{"key_is_binary", "frame", "keys are strings", body("hello", "\x81\xc4\x01a\x01")},
		{"fixext", "frame", "extension types are not used", start("\xd4\x01\x00")},
		{"timestamp", "frame", "extension types are not used", start("\xd6\xff\x00\x00\x00\x00")},
		{"ext8", "frame", "extension types are not used", start("\xc7\x01\x01\x00")},
		{"reserved_code", "frame", "0xc1 is no value", start("\xc1")},
		{"trailing_byte", "frame", "bytes follow the frame", body("goodbye", "\x81\xa4kind\xa4stop") + "\x00"},
		{"second_frame", "frame", "bytes follow the frame", strings.Repeat(body("goodbye", "\x81\xa4kind\xa4stop"), 2)},
		{"utf8_invalid", "frame", "a string is not valid UTF-8", body("error", "\x81\xa6detail\xa2\xc3\x28")},
		{"utf8_surrogate", "frame", "a string is not valid UTF-8", body("error", "\x81\xa6detail\xa3\xed\xa0\x80")},
		{"utf8_overlong", "frame", "a string is not valid UTF-8", body("error", "\x81\xa6detail\xa2\xc0\x80")},
		{"utf8_in_a_key", "frame", "a string is not valid UTF-8", body("error", "\x81\xa1\xff\x01")},
		{"integer_2_53", "frame", "an integer is beyond 2^53", start("\xcf\x00\x20\x00\x00\x00\x00\x00\x00")},
		{"integer_2_64", "frame", "an integer is beyond 2^53", start("\xcf\xff\xff\xff\xff\xff\xff\xff\xff")},
		{"integer_minus_2_63", "frame", "an integer is beyond 2^53", start("\xd3\x80\x00\x00\x00\x00\x00\x00\x00")},
		{"body_missing", "frame", "a known message has a body", "\x91\x81\xa1t\xa7goodbye"},
		{"body_is_a_list", "frame", "a body is a map", body("goodbye", "\x91\xa4stop")},
		{"integer_is_a_float", "body", "an integer field holds an integer", start("\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00")},
		{"integer_is_a_string", "body", "an integer field holds an integer", start("\xa11")},
		{"integer_is_nil", "body", "only lists, binary data and optional structs may be nil", start("\xc0")},
		{"integer_is_negative", "body", "attempts begin with 1", start("\xff")},
		{"string_is_binary", "body", "a string field holds a string", body("goodbye", "\x81\xa4kind\xc4\x04stop")},
		{"binary_is_a_string", "body", "a binary field holds binary data", body("result", "\x81\xa4tail\xa1x")},
		{"struct_is_a_list", "body", "a struct is a map", body("heartbeat", "\x81\xa6health\x92\xc3\x90")},
		{"list_is_a_map", "body", "a list field holds a list", body("heartbeat", "\x81\xa7running\x80")},
		{"unknown_word", "body", "an enumeration has its words only", body("goodbye", "\x81\xa4kind\xa3bye")},
		{"log_request_of_0", "body", "a log request asks for at least a byte", logRequest("output", "\x00", "\x00")},
		{"log_request_over_32_kib", "body", "a log request asks for at most 32 KiB", logRequest("output", "\x00", "\xcd\x80\x01")},
		{"log_request_offset_negative", "body", "a log begins with 0", logRequest("output", "\xff", "\x01")},
		{"log_stream_unknown", "body", "an enumeration has its words only", logRequest("stdin", "\x00", "\x01")},
		{"log_over_32_kib", "body", "a log message carries at most 32 KiB", logOf("output", "\xc5\x80\x01"+text(0x8001))},
		{"log_without_stream", "body", "a log names its stream", logOf("", "\xc4\x00")},
		{"chain_of_65", "body", "a chain is at most 64 hex digits", body("hello", "\x84\xa9proto_min\x01\xa9proto_max\x01\xa7boot_id\xa1b\xa5chain\xd9\x41"+strings.Repeat("a", 65))},
		{"chain_is_no_hex", "body", "a chain is hex digits", body("hello", "\x84\xa9proto_min\x01\xa9proto_max\x01\xa7boot_id\xa1b\xa5chain\xa2\x78y")},
		{"rotation_unnamed", "body", "a rotation has an id", body("rotate", "\x81\xa2id\xa0")},
		{"inventory_free_over_total", "body", "no disk has more free than it has", inventory("\xadartifact_disk\x82\xa5total\x01\xa4free\x02")},
		{"inventory_twice", "body", "an accelerator stands in an inventory once", inventory("\xacaccelerators\x92" + strings.Repeat("\x82\xa1n\xa1a\xa4kind\xa3gpu", 2))},
		{"inventory_of_65_links", "body", "an inventory's lists are bounded", inventory("\xa5links\xdc\x00\x41" + strings.Repeat("\x82\xa4peer\xa1a\xa4kind\xa1k", 65))},
		{"inventory_of_257_cached", "body", "an inventory's lists are bounded", inventory("\xa6cached\xdc\x01\x01" + strings.Repeat("\x80", 257))},
		{"inventory_command_is_a_path", "body", "a command is a name", inventory("\xa8commands\x91\xa7/bin/sh")},
		{"field_missing", "body", "a start names its job", body("start", "\x81\xa7attempt\x01")},
		{"slots_negative", "body", "nothing in a capacity is negative", body("hello", "\x84\xa9proto_min\x01\xa9proto_max\x01\xa7boot_id\xa1b\xa8capacity\x81\xa5slots\xff")},
	}
}

// manyKeys is n distinct keys with a value each.
func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("\xa1" + string(rune('0'+i)) + "\x01")
	}
	return b.String()
}
