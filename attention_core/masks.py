"""Boolean masks: True = may attend."""
