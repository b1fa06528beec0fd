"""What an exam's results amount to: figures with intervals, comparisons, slices, curves, worst cases."""
