package sim

// slab hands out places for many things of a kind that stay until the run's end.
type slab[T any] struct{ free []T }

func (s *slab[T]) take() *T {
	if len(s.free) == 0 {
		s.free = make([]T, 128)
	}
	place := &s.free[0]
	s.free = s.free[1:]
	return place
}
