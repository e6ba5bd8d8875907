"""The paper's tables and figures as experiments that anyone can run again, stop, go on with, and extend.

An experiment (`samp_lab.tables`) names its cells; a cell (`cells`) says how one number per image is measured;
the `Lab` holds nets and images; `running` measures what the `Store` does not hold yet; `report` writes what came out
beside what the paper says.
"""

__version__ = "0.2.0"  # that of samp, whose laboratory this is
