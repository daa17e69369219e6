"""From source text to the student release."""
