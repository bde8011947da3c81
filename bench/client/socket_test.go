package client

import "testing"

func TestFramesAreReadAlikeWithAndWithoutDecoding(t *testing.T) {
	t.Parallel()
	frames := []string{
		`{"id":"s7","type":"next","payload":{"data":{"sessionEvents":{"kind":"TURN_COMPLETED","sequence":19,"data":{"id":"x"}}}}}`,
		`{"type":"next","id":"s7","payload":{"data":{"sessionEvents":{"kind":"TURN_COMPLETED","sequence":19,"data":{"id":"x"}}}}}`,
	}
	for _, frame := range frames {
		id, fast, found := parseNext([]byte(frame))
		if !found {
			t.Errorf("not read: %s", frame)
		}
		sameID, slow, found, err := decodeFrame([]byte(frame))
		if err != nil || !found {
			t.Errorf("not decoded: %v: %s", err, frame)
		}
		if string(id) != "s7" || string(sameID) != "s7" || fast.Kind != slow.Kind || fast.Sequence != 19 ||
			slow.Sequence != 19 || string(fast.Data) != string(slow.Data) {
			t.Errorf("%s\n%s %+v\n%s %+v", frame, id, fast, sameID, slow)
		}
	}
}

func TestAnotherLayoutIsDecoded(t *testing.T) {
	t.Parallel()
	frame := []byte(`{"payload":{"data":{"sessionEvents":{"sequence":2,"data":{},"kind":"TURN_STARTED"}}},"id":"1","type":"next"}`)
	if _, _, found := parseNext(frame); found {
		t.Error("read though it looks otherwise")
	}
	id, e, found, err := decodeFrame(frame)
	if err != nil || !found || string(id) != "1" || e.Kind != "TURN_STARTED" || e.Sequence != 2 {
		t.Errorf("%s %+v %v %v", id, e, found, err)
	}
}

func TestTheEndOfASubscriptionIsAnError(t *testing.T) {
	t.Parallel()
	for _, frame := range []string{
		`{"id":"1","type":"complete"}`,
		`{"id":"1","type":"error","payload":[{"message":"no"}]}`,
		`{"id":"1","type":"next","payload":{"data":null,"errors":[{"message":"no"}]}}`,
		`no JSON`,
	} {
		if _, _, _, err := decodeFrame([]byte(frame)); err == nil {
			t.Errorf("no error: %s", frame)
		}
	}
}
