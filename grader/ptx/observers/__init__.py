"""What watches a launch: traffic, hazards, provenance; none of them changes a result."""
