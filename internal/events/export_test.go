package events

// HeldBytes is how much of events a reader may hold that it was not asked for.
const HeldBytes = heldBytes

// Held gives how many events a reader holds that it was not asked for, and how many bytes they have.
func (s *Subscription) Held() (count, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.page {
		count, bytes = count+1, bytes+len(i.Event.Data)
	}
	for _, e := range s.queue[s.head:] {
		if e.item != nil {
			count, bytes = count+1, bytes+len(e.item.Event.Data)
		}
	}
	return count, bytes
}
