"""Does credit sum to the change of the score? Our methods and those of Captum and shap on five real nets.

`nets` has the nets with their inputs, `rows` the methods, `peers` those of other libraries, `measure` the sums, and
`page` the Markdown page made of them. `samp bench completeness` runs it.
"""
