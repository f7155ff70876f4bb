package runner

// plainOnly has no flags here: what was opened is compared with what was looked at.
const plainOnly = 0
