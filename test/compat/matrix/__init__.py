# SPDX-License-Identifier: Apache-2.0
"""What test_directive_matrix.py drives: arguments of directives, and configurations made of them."""
