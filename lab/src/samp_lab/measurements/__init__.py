"""What is measured of one net, one data set and one method: a number, or a map, for each image."""
