package family

import "fmt"

// ropeBase reads the newer key of rotary positions, {"rope_type": "default", "rope_theta": 10000.0}; nothing is changed where it is left out.
func ropeBase(base *float64) rule {
	return func(value any) error {
		if value == nil {
			return nil
		}
		parameters, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("is %s, expected an object with rope_type and rope_theta", show(value))
		}
		for key, v := range parameters {
			switch key {
			case "rope_theta":
				if err := scan(v, base); err != nil {
					return fmt.Errorf("rope_theta: %w", err)
				}
			case "rope_type", "type":
				if v != "default" {
					return fmt.Errorf("%s is %s, expected \"default\": scaled positions have no rule", key, show(v))
				}
			case "partial_rotary_factor":
				if !same(v, 1) {
					return fmt.Errorf("%s is %s, expected 1: positions for a part of each head have no rule", key, show(v))
				}
			default:
				return fmt.Errorf("%s has no rule; expected rope_type and rope_theta", key)
			}
		}
		return nil
	}
}

// fullAttention accepts a list of layers that all see everything.
func fullAttention(value any) error {
	list, ok := value.([]any)
	if value != nil && !ok {
		return fmt.Errorf("is %s, expected a list", show(value))
	}
	for _, t := range list {
		if t != "full_attention" {
			return fmt.Errorf("has %s, expected \"full_attention\": windows in some layers have no rule", show(t))
		}
	}
	return nil
}
