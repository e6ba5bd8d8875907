"""The paper's theory in numbers: the exact optimum of Eq. 5, and Prop. 1 and 2 on simulations and real nets."""
