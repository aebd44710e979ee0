"""Systems that learn a metric by one LogDet problem: across two domains, across equal features, in one space."""
