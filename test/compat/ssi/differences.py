# SPDX-License-Identifier: Apache-2.0
"""Where pages come out otherwise than Apache's, and why: key -> (pattern of names of pages, reason).

"log:" before a name is what the log says of it.
"""

SSI = {
}
